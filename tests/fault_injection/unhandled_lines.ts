// Lines of a process's log that report an error which no code handled.

import { UNHANDLED_MESSAGES } from "../../platform/process.ts";

const STACK = /^\s+at /;
const ALWAYS = [...Object.values(UNHANDLED_MESSAGES), "SCIM request failed", "could not be handled"];

/** The lines with an unhandled error or a stack; `more` are further messages that the test must not find. */
export function unhandledLines(lines: readonly string[], more: readonly string[] = []): string[] {
  const messages = [...ALWAYS, ...more];
  return lines.filter((line) => STACK.test(line) || messages.some((message) => line.includes(message)));
}
