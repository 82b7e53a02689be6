/** Buttons: the primary one in ember, the destructive one in red, all others quiet. */
import type { LucideIcon } from "lucide-preact";
import type { ComponentChildren, JSX } from "preact";

export type ButtonKind = "primary" | "plain" | "danger" | "quiet";

interface ButtonProps extends Omit<JSX.HTMLAttributes<HTMLButtonElement>, "icon"> {
  readonly kind?: ButtonKind;
  readonly icon?: LucideIcon;
  readonly busy?: boolean;
  readonly disabled?: boolean;
  readonly type?: "button" | "submit";
  readonly children?: ComponentChildren;
}

const LOOKS: Readonly<Record<ButtonKind, string>> = {
  primary: "bg-ember-solid text-ember-ink border-transparent hover:brightness-110 font-medium",
  plain: "bg-surface text-ink border-line-strong hover:bg-raised",
  danger: "bg-bad-solid text-white border-transparent hover:brightness-110 font-medium",
  quiet: "bg-transparent text-soft border-transparent hover:bg-raised hover:text-ink",
};

export function Button({
  kind = "plain",
  icon: Icon,
  busy,
  disabled,
  type,
  children,
  class: extra,
  ...rest
}: ButtonProps) {
  const square = children === undefined ? "w-8 max-sm:w-10 justify-center px-0" : "px-3";
  return (
    <button
      {...rest}
      type={type ?? "button"}
      disabled={disabled === true || busy === true}
      aria-busy={busy}
      class={`inline-flex h-8 max-w-full shrink-0 items-center gap-1.5 rounded-md border text-sm whitespace-nowrap transition-colors duration-100 disabled:opacity-50 max-sm:h-10 ${square} ${LOOKS[kind]} ${extra ?? ""}`}
    >
      {Icon && <Icon size={15} aria-hidden="true" class={`shrink-0 ${busy ? "animate-spin" : ""}`} />}
      {children !== undefined && <span class="truncate">{children}</span>}
    </button>
  );
}
