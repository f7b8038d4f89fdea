// What a row says of a page: how it is reached, what it shows, what it says when there is nothing and when nothing comes, and its
// dialogs with the buttons that open them.

import type { RouteName } from "../../../console/web/app/routes.ts";
import type { FullConsole, FullNames } from "../../fakes/console_full.ts";

/** One action on the page, by what the user sees. */
export type Step =
  | readonly [role: "button" | "link" | "checkbox" | "option", name: string | RegExp]
  | readonly [action: "fill", label: string, value: string]
  | readonly [action: "file", label: string, text: string]
  | readonly [action: "see", text: string | RegExp];

export interface DialogRow {
  /** The file below `console/web` that draws it. */
  readonly file: string;
  readonly name: string | RegExp;
  readonly steps: readonly Step[];
  /** How it is opened on a small screen, where that differs. */
  readonly smallSteps?: readonly Step[];
  /** It shows a one-time secret: Escape does not close it, only "Done". */
  readonly isSecret?: true;
}

export interface PageRow {
  readonly place: RouteName | "sign_in";
  readonly path: (names: FullNames) => string;
  readonly heading: (names: FullNames) => string | RegExp;
  /** What stands there with data. */
  readonly shows: (names: FullNames) => string | RegExp;
  /** What it says with nothing in it, and where if elsewhere; `null` where there is always something. */
  readonly nothing: { readonly says: string | RegExp; readonly path?: string } | null;
  /** What is done for it to ask the server, where opening alone does not. */
  readonly asks?: readonly Step[];
  /** What it says when the server answers nothing good; an alert unless given. */
  readonly fails?: { readonly role: "alert" | "status"; readonly says: string | RegExp };
  readonly dialogs: readonly DialogRow[];
  /** What happens outside the page before it is opened. */
  readonly before?: (site: FullConsole) => void;
  /** A part of a page that another row has: message and palette were seen over that. */
  readonly part?: true;
  /** No rail, no palette, no session. */
  readonly outside?: true;
  /** Only by a host name, as what is about passkeys. */
  readonly byName?: true;
}

/** Where a page has something whatever happened. */
export const ALWAYS_SOMETHING = null;
