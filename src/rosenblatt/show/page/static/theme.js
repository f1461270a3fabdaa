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
