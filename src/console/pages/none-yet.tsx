/**
 * An empty list, in words that are true for whoever looks: the hub lists what a token may read, so only those who may read
 * everything can be told that nothing is there.
 */
import { CircleSlash2, Lock } from "lucide-preact";
import type { ComponentProps } from "preact";
import { reach } from "../data/session.js";
import { TextLink } from "../ui/link.js";
import { to } from "../ui/router.js";
import { Empty } from "../ui/states.js";

/** `things` are what is listed, `filtered` what is said if there are some that do not fit; the rest is for those who may read everything. */
export function NoneYet({
  things,
  filtered = false,
  ...rest
}: { readonly things: string; readonly filtered?: string | false } & ComponentProps<typeof Empty>) {
  if (filtered !== false) return <Empty title={filtered} />;
  switch (reach()) {
    case "all":
      return <Empty {...rest} />;
    case "some":
      return (
        <Empty icon={CircleSlash2} title={`No ${things} that your token may read`}>
          It does not cover every topic, so there may be others.{" "}
          <TextLink href={to("operations", { tab: "access" })}>What it covers</TextLink>
        </Empty>
      );
    case "none":
      return (
        <Empty icon={Lock} title="Your token may read no topic">
          It lacks the right <code class="mono text-ink">read:&lt;topic&gt;</code>, so that nothing can be
          said of {things} here. Ask whoever runs this hub for a token with that scope, or sign in with
          another one.
        </Empty>
      );
  }
}
