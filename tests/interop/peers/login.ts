// The interface of every peer: begin a login, show the gateway's text, answer it, end.

import type { Needs } from "../../support/skip_unless.ts";

/** The address of the gateway, and the secret shared with it. */
export interface Door {
  readonly port: number;
  readonly secret: string;
}

/** The result of a login. */
export type Verdict = "accept" | "reject";

/** One login in progress. Every wait has a deadline of 20 s and throws with the text on the screen. */
export interface Login {
  /** Waits for a challenge whose text contains `text`. */
  shows(text: string): Promise<void>;
  /** The present text, for programs with a screen. */
  screen?(): string;
  /** Answers the present challenge. */
  answer(text: string): Promise<void>;
  /** Waits for the end. `message` is the text of an Access-Reject, if the peer shows one. */
  end(): Promise<{ verdict: Verdict; message: string | null }>;
}

/** A peer that was set up for one gateway or proxy. */
export interface PeerSetUp extends AsyncDisposable {
  login(user: { name: string; password: string }): Promise<Login>;
  /** Waits until the output of its server has a text, for servers that are read. */
  serverShows?(text: string): Promise<void>;
}

/** One kind of peer. */
export interface PeerRow {
  readonly title: string;
  readonly needs: Needs;
  setUp(door: Door): Promise<PeerSetUp>;
}
