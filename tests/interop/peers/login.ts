// What every peer can do, whatever it is made of: begin a login, show what the gateway says, take an answer, end.

import type { Needs } from "../../support/skip_unless.ts";

/** Where the gateway is, and the secret shared with it. */
export interface Door {
  readonly port: number;
  readonly secret: string;
}

/** How a login ended. */
export type Verdict = "accept" | "reject";

/** One login under way. Every wait has a deadline of 20 s and throws with what was shown. */
export interface Login {
  /** Waits for a challenge whose text contains `text`. */
  shows(text: string): Promise<void>;
  /** What the program shows now, where it shows text on a screen. */
  screen?(): string;
  /** Answers the challenge that is shown. */
  answer(text: string): Promise<void>;
  /** Waits for the end. `message` is the text of an Access-Reject, where the peer shows one. */
  end(): Promise<{ verdict: Verdict; message: string | null }>;
}

/** A peer that was set up in front of a door. */
export interface PeerSetUp extends AsyncDisposable {
  login(user: { name: string; password: string }): Promise<Login>;
}

/** One kind of peer. */
export interface PeerRow {
  readonly title: string;
  readonly needs: Needs;
  setUp(door: Door): Promise<PeerSetUp>;
}
