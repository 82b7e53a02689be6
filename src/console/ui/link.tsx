/** Links within the console: real ones, so that they open in a new tab as any other. */
import type { ComponentChildren, JSX } from "preact";
import { go } from "./router.js";

interface LinkProps extends JSX.HTMLAttributes<HTMLAnchorElement> {
  readonly href: string;
  readonly children?: ComponentChildren;
}

export function Link({ href, children, onClick, ...rest }: LinkProps) {
  return (
    <a
      {...rest}
      href={href}
      onClick={(event) => {
        if (typeof onClick === "function") onClick(event);
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        go(href);
      }}
    >
      {children}
    </a>
  );
}

/** A link that looks like one, for ids and names in running text and tables. */
export function TextLink({ mono, ...rest }: LinkProps & { readonly mono?: boolean }) {
  return (
    <Link
      {...rest}
      class={`rounded-sm text-ink underline decoration-line-strong underline-offset-2 hover:decoration-ember ${mono ? "mono" : ""}`}
    />
  );
}
