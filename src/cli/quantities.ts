/** Numbers as people read them. */

const GROUPS = new Intl.NumberFormat("en-US");

export function count(n: number): string {
  return GROUPS.format(n);
}

/** "1 event", "2 events". */
export function counted(n: number, noun: string, plural = `${noun}s`): string {
  return `${count(n)} ${n === 1 ? noun : plural}`;
}

/** A time as ISO 8601 has it; one that no calendar reaches, as it is. */
export function timeText(ms: number): string {
  const time = new Date(ms);
  return Number.isNaN(time.getTime()) ? `${ms} ms` : time.toISOString();
}

export function memorySize(megabytes: number): string {
  if (megabytes < 10) return `${megabytes.toFixed(1)} MB`;
  return megabytes < 10_000 ? `${count(Math.round(megabytes))} MB` : `${(megabytes / 1_024).toFixed(1)} GB`;
}

const UNITS = [
  { size: 86_400, name: "d" },
  { size: 3_600, name: "h" },
  { size: 60, name: "min" },
  { size: 1, name: "s" },
];

/** The largest units: "42 s", "3 min 5 s", "2 h 10 min", "4 d 1 h". */
export function duration(ms: number, units = 2): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const first = UNITS.findIndex(({ size }) => seconds >= size);
  if (first < 0) return "0 s";
  let rest = seconds;
  const parts = UNITS.slice(first, first + units).map(({ size, name }) => {
    const whole = Math.floor(rest / size);
    rest -= whole * size;
    return whole === 0 ? "" : `${whole} ${name}`;
  });
  return parts.filter(Boolean).join(" ");
}

const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** A bar of at most `width` columns for a share from 0 to 1. */
export function bar(share: number, width: number): string {
  const eighths = Math.round(Math.min(1, Math.max(0, share)) * width * 8);
  return "█".repeat(eighths >> 3) + EIGHTHS[eighths & 7];
}

const SIZES = ["kB", "MB", "GB", "TB"];

/** "812 B", "4.2 kB", "1.3 GB". */
export function dataSize(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  let size = bytes / 1_000;
  let unit = 0;
  while (size >= 1_000 && unit < SIZES.length - 1) {
    size /= 1_000;
    unit++;
  }
  return `${size.toFixed(size < 100 ? 1 : 0)} ${SIZES[unit]}`;
}
