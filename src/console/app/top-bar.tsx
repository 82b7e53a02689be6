/** Which hub this is, how it does, and the switches that concern every page. */
import { LogOut, Moon, Pause, Play, Search, Sun, WifiOff } from "lucide-preact";
import { isRunning, lastHeardMs, liveSwitch, offlineSinceMs } from "../data/live.js";
import { signOut, who } from "../data/session.js";
import { useStats } from "../data/stats.js";
import { isFarBehind } from "../data/stats-past.js";
import { Badge, Dot, type Tone } from "../ui/badge.js";
import { Button } from "../ui/button.js";
import { count, duration, plural } from "../ui/format.js";
import { Link } from "../ui/link.js";
import { localNow } from "../ui/now.js";
import { to } from "../ui/router.js";
import { theme, toggleTheme } from "../ui/theme.js";
import { Mark } from "./mark.js";
import { paletteOpen } from "./palette.js";

export function TopBar() {
  const identity = who.value;
  const dark = theme.value === "dark";
  return (
    <header class="print:hidden z-20 flex h-12 shrink-0 items-center gap-3 border-b border-line bg-surface px-4 max-sm:gap-1 max-sm:px-1.5">
      <Link
        href={to()}
        class="flex items-center gap-2 rounded-md font-semibold tracking-tight max-sm:size-10 max-sm:shrink-0 max-sm:justify-center"
      >
        <Mark size={22} />
        <span class="max-sm:sr-only">Promethean</span>
      </Link>
      <StoreName />
      <Health />
      <div class="ml-auto flex items-center gap-1 max-sm:gap-0">
        <button
          type="button"
          onClick={() => {
            paletteOpen.value = true;
          }}
          class="flex h-8 items-center gap-2 rounded-md border border-line bg-sunken px-2.5 text-sm text-faint hover:border-line-strong hover:text-ink max-lg:w-8 max-lg:justify-center max-lg:px-0 max-sm:size-10 lg:w-56"
        >
          <Search size={14} aria-hidden="true" />
          <span class="max-lg:sr-only">Jump to…</span>
          <kbd class="ml-auto rounded border border-line px-1 font-sans text-2xs max-lg:hidden">Ctrl K</kbd>
        </button>
        <LiveSwitch />
        <Button
          kind="quiet"
          icon={dark ? Sun : Moon}
          aria-label={dark ? "Light theme" : "Dark theme"}
          title={dark ? "Light theme" : "Dark theme"}
          onClick={toggleTheme}
        />
        {identity !== null && (
          <>
            <span
              class="max-w-40 truncate text-sm text-soft max-lg:hidden"
              title={`Signed in as ${identity.subject}`}
            >
              {identity.subject}
            </span>
            {identity.hub?.open !== true && (
              <Button kind="quiet" icon={LogOut} aria-label="Sign out" title="Sign out" onClick={signOut} />
            )}
          </>
        )}
      </div>
    </header>
  );
}

function StoreName() {
  const hub = who.value?.hub;
  if (hub === undefined) return null;
  return (
    <span class="flex min-w-16 shrink items-center gap-2 text-sm max-sm:hidden" title={hub.name}>
      <span class="text-line-strong" aria-hidden="true">
        /
      </span>
      <span class="truncate">{hub.name}</span>
      <Badge title={hub.store}>{hub.store.split(" ")[0]}</Badge>
    </span>
  );
}

/** One dot with a word: the worst of what there is to say. */
function Health() {
  const stats = useStats();
  const [tone, word, more, href = to()] = ((): [Tone, string, string, string?] => {
    if (offlineSinceMs.value !== null) return ["bad", "Reconnecting", "The hub cannot be reached"];
    if (stats === undefined) return ["neutral", "Connected", ""];
    const { open } = stats.deadLetters;
    const stuck = stats.groups.filter((one) => one.paused === undefined && isFarBehind(one)).length;
    if (stuck > 0)
      return ["warn", `${plural(stuck, "group")} behind`, "More than a minute behind", to("groups")];
    if (open > 0)
      return ["warn", plural(open, "dead letter"), `${count(open)} wait for a decision`, to("dead-letters")];
    return ["good", "Healthy", "Every group keeps up, no dead letters"];
  })();
  return (
    <Link
      href={href}
      class="flex min-w-0 items-center gap-1.5 rounded-sm text-sm whitespace-nowrap text-soft hover:text-ink max-sm:h-10 sm:shrink-0"
      title={more}
      data-health={tone}
    >
      <Dot tone={tone} pulse={tone === "bad"} />
      <span class="truncate">{word}</span>
    </Link>
  );
}

function LiveSwitch() {
  const on = liveSwitch.value;
  const isLive = isRunning.value && offlineSinceMs.value === null;
  return (
    <Button
      kind="quiet"
      aria-pressed={on}
      icon={on ? Pause : Play}
      title={on ? "Pause live updates" : "Go on with live updates"}
      onClick={() => {
        liveSwitch.value = !on;
      }}
    >
      <span class="flex items-center gap-1.5 max-sm:sr-only">
        <Dot tone={isLive ? "ember" : "neutral"} pulse={isLive} />
        {on ? "Live" : "Paused"}
      </span>
    </Button>
  );
}

/** What is shown is old: says how old. */
export function OfflineBar() {
  if (offlineSinceMs.value === null) return null;
  const heardMs = lastHeardMs.value;
  const age = heardMs === 0 ? null : duration(Math.max(1, Math.round((localNow.value - heardMs) / 1_000)));
  return (
    <div class="flex items-center gap-2 border-b border-line bg-warn-wash px-6 py-2 text-sm text-warn">
      <WifiOff size={15} aria-hidden="true" />
      <p>
        {/* Said once; how long ago is there to be read, not to be called out each second. */}
        <span role="status">Reconnecting</span>
        {age === null ? "…" : `, last update ${age} ago`}
      </p>
    </div>
  );
}
