/** The way in: a token, or the link that the hub printed when it was first started. */
import { KeyRound } from "lucide-preact";
import { useState } from "preact/hooks";
import { offlineSinceMs } from "../data/live.js";
import type { Problem } from "../data/problem.js";
import { session, signIn } from "../data/session.js";
import { Button } from "../ui/button.js";
import { TextField } from "../ui/fields.js";
import { sentence } from "../ui/states.js";
import { Mark } from "./mark.js";

export function SignIn() {
  const [text, setText] = useState("");
  const [keep, setKeep] = useState(false);
  const [busy, setBusy] = useState(false);
  const state = session.value;
  const wrong = state.kind === "out" && state.problem !== undefined ? wrongWords(state.problem) : undefined;
  const isOver = state.kind === "out" && state.isOver === true;
  const isAway = offlineSinceMs.value !== null;
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (text.trim() === "") return;
    setBusy(true);
    await signIn(text.trim(), keep);
    setBusy(false);
  };
  return (
    <main class="flex min-h-dvh items-center justify-center p-4">
      <form onSubmit={submit} class="card w-full max-w-sm p-6">
        <div class="mb-5 flex items-center gap-3">
          <Mark size={30} />
          <div>
            <h1 class="text-lg font-semibold tracking-tight">Sign in to Promethean</h1>
            <p class="text-xs text-soft">{location.host}</p>
          </div>
        </div>
        {(isOver || isAway) && (
          <p role="status" class="mb-4 rounded-md bg-warn-wash px-3 py-2 text-sm text-warn">
            {isAway
              ? "The hub cannot be reached. Trying again…"
              : "Your token has run out, or was taken back. Sign in with another one to go on where you were."}
          </p>
        )}
        <TextField
          label="Access token"
          type="password"
          value={text}
          onInput={setText}
          placeholder="Paste a token"
          mono
          wrong={wrong}
          hint="A JWT or a fixed token of this hub."
        />
        <label class="tick mt-3">
          <input
            type="checkbox"
            class="accent-ember-solid"
            checked={keep}
            onChange={(event) => setKeep(event.currentTarget.checked)}
          />
          Keep me signed in on this browser
        </label>
        <Button kind="primary" type="submit" icon={KeyRound} busy={busy} class="mt-4 w-full justify-center">
          Sign in
        </Button>
        <p class="mt-4 border-t border-line pt-3 text-xs text-faint">
          First time here? <code class="mono text-xs text-soft">npx promethean up</code> prints a link that
          signs you in.
        </p>
      </form>
    </main>
  );
}

function wrongWords({ status, message }: Problem): string {
  return status === 401 ? "The hub does not know this token, or it has run out." : sentence(message);
}
