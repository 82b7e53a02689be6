/** What is wrong, in sentences, or that nothing is: either way it has its place, so that the page stays where it is. */
import { ChevronRight, CircleAlert, CircleCheck, MailX, PauseCircle, TriangleAlert } from "lucide-preact";
import { Link } from "../../ui/link.js";
import { Sentence } from "../../ui/sentence.js";
import type { Notice } from "./notices.js";

const LOOKS = {
  stuck: { icon: TriangleAlert, color: "text-warn" },
  failing: { icon: CircleAlert, color: "text-bad" },
  letters: { icon: MailX, color: "text-bad" },
  paused: { icon: PauseCircle, color: "text-warn" },
};

export function Attention({ notices }: { readonly notices: readonly Notice[] }) {
  return (
    <section aria-label="Needs attention" class="card divide-y divide-line overflow-hidden">
      {notices.map((notice) => (
        <Row key={`${notice.kind} ${notice.id}`} notice={notice} />
      ))}
      {notices.length === 0 && (
        <p class="flex items-center gap-3 px-4 py-2.5 text-sm text-soft">
          <CircleCheck size={16} aria-hidden="true" class="shrink-0 text-good" />
          Nothing needs attention: no group is held up, and no dead letter waits.
        </p>
      )}
    </section>
  );
}

function Row({ notice: { kind, href, text } }: { readonly notice: Notice }) {
  const { icon: Icon, color } = LOOKS[kind];
  return (
    <Link href={href} class="flex items-center gap-3 px-4 py-2.5 text-sm hover:bg-sunken">
      <Icon size={16} aria-hidden="true" class={`shrink-0 ${color}`} />
      <span class="line-clamp-4 min-w-0 flex-1 text-pretty">
        <Sentence text={text} />
      </span>
      <ChevronRight size={15} aria-hidden="true" class="shrink-0 text-faint" />
    </Link>
  );
}
