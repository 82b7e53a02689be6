/** How far something is. */
import { count } from "./format.js";

export function Progress(props: { readonly done: number; readonly total: number; readonly label: string }) {
  const { done, total, label } = props;
  const share = total === 0 ? 1 : Math.min(1, done / total);
  return (
    <div>
      <div class="mb-1 flex justify-between text-xs text-soft">
        <span>{label}</span>
        <span>
          {count(done)} of {count(Math.max(done, total))}
        </span>
      </div>
      <div
        role="progressbar"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(share * 100)}
        class="h-2 overflow-hidden rounded-full bg-raised"
      >
        <div
          class="h-full rounded-full bg-ember transition-[width] duration-150"
          style={{ width: `${share * 100}%` }}
        />
      </div>
    </div>
  );
}
