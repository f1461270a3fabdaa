// Theme: the colours of the pictures, as the style sheet names them.

const COLOURS = {
  paper: "--paper",
  ink: "--ink",
  soft: "--soft",
  faint: "--faint",
  yes: "--yes",
  no: "--no",
  yesArea: "--yes-area",
  noArea: "--no-area",
  third: "--third",
  fourth: "--fourth",
  fifth: "--fifth",
  thirdArea: "--third-area",
  fourthArea: "--fourth-area",
  fifthArea: "--fifth-area",
  pocket: "--pocket",
  band: "--band",
  mark: "--mark",
};

const bySystem = () => window.matchMedia("(prefers-color-scheme: dark)").matches;
export const isDark = (theme) => theme === "dark" || (theme === "auto" && bySystem());

// The look of names in a picture: bold, with a halo that sets them off from what is below.
export function nameStyle(palette, scale = 1) {
  const { font, ink, paper } = palette;
  return { size: scale * palette.size, font, weight: 700, fill: ink, halo: paper };
}

export function paletteOf(element) {
  const style = getComputedStyle(element);
  const palette = {};
  for (const [name, property] of Object.entries(COLOURS)) {
    palette[name] = style.getPropertyValue(property).trim();
  }
  palette.font = style.fontFamily;
  palette.size = parseFloat(style.fontSize) || 16;
  return palette;
}
