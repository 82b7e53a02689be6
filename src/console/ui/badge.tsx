/** Short words about a state: the colour never stands alone. */
import type { LucideIcon } from "lucide-preact";
import type { ComponentChildren } from "preact";

export type Tone = "neutral" | "good" | "warn" | "bad" | "info" | "ember";

const TONES: Readonly<Record<Tone, string>> = {
  neutral: "bg-raised text-soft",
  good: "bg-good-wash text-good",
  warn: "bg-warn-wash text-warn",
  bad: "bg-bad-wash text-bad",
  info: "bg-info-wash text-info",
  ember: "bg-ember-wash text-ember-text",
};

export function Badge(props: {
  readonly tone?: Tone;
  readonly icon?: LucideIcon;
  readonly title?: string;
  readonly children: ComponentChildren;
}) {
  const { tone = "neutral", icon: Icon, title, children } = props;
  return (
    <span
      title={title}
      class={`inline-flex h-5 max-w-full items-center gap-1 rounded px-1.5 text-xs font-medium whitespace-nowrap ${TONES[tone]}`}
    >
      {Icon && <Icon size={12} aria-hidden="true" class="shrink-0" />}
      {children}
    </span>
  );
}

const DOTS: Readonly<Record<Tone, string>> = {
  neutral: "bg-faint",
  good: "bg-good",
  warn: "bg-warn",
  bad: "bg-bad",
  info: "bg-info",
  ember: "bg-ember",
};

export function Dot({ tone, pulse }: { readonly tone: Tone; readonly pulse?: boolean }) {
  return (
    <span
      aria-hidden="true"
      class={`inline-block size-2 shrink-0 rounded-full ${DOTS[tone]} ${pulse ? "animate-[breathe_2s_ease-in-out_infinite]" : ""}`}
    />
  );
}
