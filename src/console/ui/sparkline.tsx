/** How a number went, in a word-sized picture. The number itself stands beside it. */

interface SparklineProps {
  readonly values: readonly number[];
  /** A name of the palette, such as "published". */
  readonly color?: string;
  readonly width?: number;
  readonly height?: number;
}

export function Sparkline({ values, color = "published", width = 96, height = 28 }: SparklineProps) {
  const stroke = `var(--color-${color})`;
  // Where nothing happened, the ground line says so.
  const line = values.some((value) => value > 0) ? pathOf(values, width, height - 2) : "";
  return (
    <svg
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      class="block shrink-0"
      aria-hidden="true"
    >
      <line x1="0" x2={width} y1={height - 0.5} y2={height - 0.5} stroke="var(--color-line)" />
      {line !== "" && (
        <>
          <path d={`${line} V ${height - 1} H 0 Z`} fill={stroke} opacity="0.12" />
          <path
            d={line}
            fill="none"
            stroke={stroke}
            stroke-width="1.5"
            stroke-linejoin="round"
            vector-effect="non-scaling-stroke"
          />
        </>
      )}
    </svg>
  );
}

/** From zero, so that a small change of a large number looks small. */
export function pathOf(values: readonly number[], width: number, height: number): string {
  if (values.length < 2) return "";
  const top = Math.max(...values, 1e-9);
  const step = width / (values.length - 1);
  return values
    .map((value, i) => {
      const y = height - (Math.max(0, value) / top) * (height - 2) + 0.5;
      return `${i === 0 ? "M" : "L"} ${(i * step).toFixed(1)} ${y.toFixed(1)}`;
    })
    .join(" ");
}
