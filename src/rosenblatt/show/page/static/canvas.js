// Canvas: one that is as sharp as the screen, and says when its size has changed.

export class Sheet {
  constructor(canvas, changed) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.width = 0;
    this.height = 0;
    this.watcher = new ResizeObserver(() => this.measure() && changed());
    this.watcher.observe(canvas);
    this.measure();
  }

  measure() {
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    const ratio = window.devicePixelRatio || 1;
    if (width === this.width && height === this.height && ratio === this.ratio) return false;
    [this.width, this.height, this.ratio] = [width, height, ratio];
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
    return true;
  }

  // A clean sheet, to draw on in CSS pixels.
  clean() {
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.context.clearRect(0, 0, this.width, this.height);
    return this.context;
  }

  // A sheet of the same size behind it, for what does not change.
  behind() {
    const canvas = document.createElement("canvas");
    canvas.width = this.canvas.width;
    canvas.height = this.canvas.height;
    const context = canvas.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    return { canvas, context };
  }

  lay(canvas) {
    this.context.drawImage(canvas, 0, 0, this.width, this.height);
  }

  end() {
    this.watcher.disconnect();
  }
}
