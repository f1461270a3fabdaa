// Pens: the same few strokes on a canvas or as SVG text.
// A style is {fill, stroke, width, dash, opacity}; points are [x, y] in pixels.

export class CanvasPen {
  constructor(context) {
    this.context = context;
  }

  polygon(points, style) {
    this.trace(points, true);
    this.finish(style);
  }

  lines(points, style) {
    this.trace(points, false);
    this.finish(style);
  }

  // Many short strokes or rings of one style are one path: that is what makes them fast.
  circles(centres, radius, style) {
    const c = this.context;
    c.beginPath();
    for (const [x, y] of centres) {
      c.moveTo(x + radius, y);
      c.arc(x, y, radius, 0, 2 * Math.PI);
    }
    this.finish(style);
  }

  strokes(segments, style) {
    const c = this.context;
    c.beginPath();
    for (const [x1, y1, x2, y2] of segments) {
      c.moveTo(x1, y1);
      c.lineTo(x2, y2);
    }
    this.finish(style);
  }

  text(text, x, y, style) {
    const c = this.context;
    c.font = `${style.weight || 400} ${style.size}px ${style.font}`;
    c.textAlign = style.align || "left";
    c.textBaseline = "alphabetic";
    if (style.halo) {
      c.lineJoin = "round";
      c.lineWidth = 4;
      c.setLineDash([]);
      c.strokeStyle = style.halo;
      c.strokeText(text, x, y);
    }
    c.fillStyle = style.fill;
    c.fillText(text, x, y);
  }

  trace(points, closed) {
    const c = this.context;
    c.beginPath();
    points.forEach(([x, y], i) => (i ? c.lineTo(x, y) : c.moveTo(x, y)));
    if (closed) c.closePath();
  }

  finish(style) {
    const c = this.context;
    c.globalAlpha = style.opacity ?? 1;
    if (style.fill) {
      c.fillStyle = style.fill;
      c.fill();
    }
    if (style.stroke) {
      c.strokeStyle = style.stroke;
      c.lineWidth = style.width || 1;
      c.lineCap = "round";
      c.lineJoin = "round";
      c.setLineDash(style.dash || []);
      c.stroke();
    }
    c.globalAlpha = 1;
  }
}

export class SvgPen {
  constructor(width, height) {
    this.width = width;
    this.height = height;
    this.parts = [];
  }

  polygon(points, style) {
    if (points.length) this.path(svgPath(points) + "Z", style);
  }

  lines(points, style) {
    if (points.length) this.path(svgPath(points), style);
  }

  circles(centres, radius, style) {
    for (const [x, y] of centres) {
      const place = `cx="${tenth(x)}" cy="${tenth(y)}" r="${tenth(radius)}"`;
      this.parts.push(`<circle ${place}${svgStyle(style)}/>`);
    }
  }

  strokes(segments, style) {
    const path = segments
      .map(([x1, y1, x2, y2]) => `M${tenth(x1)} ${tenth(y1)}L${tenth(x2)} ${tenth(y2)}`)
      .join("");
    if (path) this.path(path, style);
  }

  text(text, x, y, style) {
    const anchor = { center: "middle", right: "end" }[style.align] || "start";
    const halo = style.halo
      ? ` stroke="${style.halo}" stroke-width="4" stroke-linejoin="round" paint-order="stroke"`
      : "";
    this.parts.push(
      `<text x="${tenth(x)}" y="${tenth(y)}" font-family="system-ui, sans-serif" ` +
        `font-size="${style.size}" font-weight="${style.weight || 400}" ` +
        `text-anchor="${anchor}" fill="${style.fill}"${halo}>${escaped(text)}</text>`,
    );
  }

  path(path, style) {
    this.parts.push(`<path d="${path}"${svgStyle(style)}/>`);
  }

  finished(title) {
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${this.width} ${this.height}" ` +
      `width="${this.width}" height="${this.height}" role="img">` +
      `<title>${escaped(title)}</title>\n${this.parts.join("\n")}\n</svg>\n`
    );
  }
}

function tenth(number) {
  return String(Math.round(10 * number) / 10);
}

function svgPath(points) {
  return points.map(([x, y], i) => `${i ? "L" : "M"}${tenth(x)} ${tenth(y)}`).join("");
}

function svgStyle(style) {
  const dash = style.dash ? ` stroke-dasharray="${style.dash.join(" ")}"` : "";
  const stroke = style.stroke
    ? ` stroke="${style.stroke}" stroke-width="${style.width || 1}" ` +
      `stroke-linecap="round" stroke-linejoin="round"${dash}`
    : "";
  const opacity = style.opacity === undefined ? "" : ` opacity="${style.opacity}"`;
  return ` fill="${style.fill || "none"}"${stroke}${opacity}`;
}

function escaped(text) {
  return text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
}
