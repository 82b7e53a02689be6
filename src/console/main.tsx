/** The console: who looks decides between the way in and the frame. */
import "./style.css";
import { render } from "preact";
import { Frame } from "./app/frame.js";
import { Mark } from "./app/mark.js";
import { SignIn } from "./app/sign-in.js";
import { identify, session } from "./data/session.js";
import "./ui/theme.js";
import { offlineSinceMs } from "./data/live.js";

function App() {
  switch (session.value.kind) {
    case "in":
      return <Frame />;
    case "out":
      return <SignIn />;
    case "unknown":
      return (
        <main class="late flex min-h-dvh flex-col items-center justify-center gap-3 text-sm text-soft">
          <Mark size={36} />
          <p role="status">
            {offlineSinceMs.value === null ? "Connecting…" : "The hub cannot be reached. Trying again…"}
          </p>
        </main>
      );
  }
}

const target = document.getElementById("app");
if (target !== null) {
  render(<App />, target);
  void identify();
}
