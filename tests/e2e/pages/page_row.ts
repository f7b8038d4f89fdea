// The row of a page: how to reach it, its content, its texts when it is empty or fails, and its dialogs with the
// buttons that open them.

import type { RouteName } from "../../../console/web/app/routes.ts";
import type { FullConsole, FullNames } from "../../fakes/console_full.ts";

/** One action on the page, in the terms that the user sees. */
export type Step =
  | readonly [role: "button" | "link" | "checkbox" | "option" | "menuitem", name: string | RegExp]
  | readonly [action: "fill", label: string, value: string]
  | readonly [action: "file", label: string, text: string]
  | readonly [action: "see", text: string | RegExp];

export interface DialogRow {
  /** The file below `console/web` that draws it. */
  readonly file: string;
  readonly name: string | RegExp;
  readonly steps: readonly Step[];
  /** How to open it on a small screen, where that differs. */
  readonly smallSteps?: readonly Step[];
  /** It shows a one-time secret: Escape does not close it, only "Done". */
  readonly isSecret?: true;
}

export interface PageRow {
  readonly place: RouteName | "sign_in";
  readonly path: (names: FullNames) => string;
  readonly heading: (names: FullNames) => string | RegExp;
  /** The content with data. */
  readonly shows: (names: FullNames) => string | RegExp;
  /** The text without data, and its place if elsewhere; `null` if there is always data. */
  readonly nothing: { readonly says: string | RegExp; readonly path?: string } | null;
  /** The action that makes it call the server, if opening it is not enough. */
  readonly asks?: readonly Step[];
  /** The text when the server fails; the default is an alert. */
  readonly fails?: { readonly role: "alert" | "status"; readonly says: string | RegExp };
  readonly dialogs: readonly DialogRow[];
  /** An action outside the page before it is opened. */
  readonly before?: (site: FullConsole) => void;
  /** A part of a page of another row: message and palette were checked there. */
  readonly part?: true;
  /** Without rail, palette and session. */
  readonly outside?: true;
  /** Only with a host name, because it is about passkeys. */
  readonly byName?: true;
}

/** A page that always has content. */
export const ALWAYS_SOMETHING = null;
