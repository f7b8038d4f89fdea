// Loads jose, the library of JSON Web Tokens, when the first token is signed or checked: the start does not wait for it.

let loading: Promise<typeof import("jose")> | undefined;

/** The library. It is loaded once. */
export function loadJose(): Promise<typeof import("jose")> {
  return loading ??= import("jose");
}
