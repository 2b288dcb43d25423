// Numbers as text. Units are powers of ten, as in the other reports.

const KINDS = ["input", "output", "activation", "opened", "scratch", "state", "workspace"];
const KIND_WORDS = [
  "input",
  "output",
  "activation",
  "opened delegate activation",
  "scratch",
  "state",
  "delegate workspace",
];
const WORKSPACE = 6;
const STEP_KINDS = ["entry", "kernel", "node", "delegate", "control", "exit"];
const ENTRY = 0;
const DELEGATE = 3;
const EXIT = 5;

const grouped = new Intl.NumberFormat("en-US");
const twoDigits = new Intl.NumberFormat("en-US", {
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
});

function sizeText(bytes) {
  if (bytes === null) return "unknown";
  if (bytes >= 1e6) return `${twoDigits.format(bytes / 1e6)} MB`;
  if (bytes >= 1e3) return `${twoDigits.format(bytes / 1e3)} kB`;
  return `${bytes} B`;
}

const exactText = (bytes) => (bytes === null ? "unknown" : `${grouped.format(bytes)} B`);

const bothTexts = (bytes) =>
  bytes === null || bytes < 1000 ? sizeText(bytes) : `${sizeText(bytes)} (${exactText(bytes)})`;

// Of an axis: as few digits as tell neighbours apart.
function tickText(bytes, gap) {
  const [unit, name] =
    bytes >= 1e9 ? [1e9, "GB"] : bytes >= 1e6 ? [1e6, "MB"] : bytes >= 1e3 ? [1e3, "kB"] : [1, "B"];
  const digits = Math.max(0, -Math.floor(Math.log10(gap / unit) + 1e-9));
  return `${(bytes / unit).toFixed(Math.min(digits, 6))} ${name}`;
}

function percentText(part, whole) {
  const percent = whole ? (100 * part) / whole : 0;
  return percent > 0 && percent < 0.1 ? "< 0.1 %" : `${percent.toFixed(1)} %`;
}

const plural = (count, word) => `${grouped.format(count)} ${word}${count === 1 ? "" : "s"}`;

// 1, 2 or 5 times a power of ten, at least `least`.
function niceGap(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  for (const factor of [1, 2, 5, 10]) if (factor * power >= least) return factor * power;
  return 10 * power;
}
