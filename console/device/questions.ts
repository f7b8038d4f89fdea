// What the phone page asks its user: requests, and pairings that wait for a confirmation.

import type { PhonePairing, PhoneView } from "../../upstream/embedded/second_factor/interfaces.ts";

/** Request and pairing ids, with whether the person approved. */
type AnsweredQuestions = ReadonlyMap<string, boolean>;

/** The answer to the help desk. `not_me`: the user did not call. */
export type CallerAnswer =
  | { readonly answer: "confirm"; readonly number: string }
  | { readonly answer: "deny" | "not_me" };

/** Refusals of an answer after which the question is closed. */
export const CLOSING_CODES: ReadonlySet<string> = new Set([
  "wrong_number",
  "already_decided",
  "unknown_request",
  "expired",
]);

/** The view without answered questions. An approved pairing is shown as enabled. */
export function withoutAnswered(view: PhoneView, answered: AnsweredQuestions): PhoneView {
  const requests = view.requests.filter(({ requestId }) => !answered.has(requestId));
  const pairings = view.pairings.flatMap((pairing): readonly PhonePairing[] => {
    if (!asks(pairing)) return [pairing];
    const isApproved = answered.get(pairing.pairingId);
    if (isApproved === undefined) return [pairing];
    return isApproved ? [{ ...pairing, status: "enabled" }] : [];
  });
  return { ...view, requests, pairings };
}

/** Whether `after` asks something that `before` did not ask. */
export function hasNewQuestion(before: PhoneView | null, after: PhoneView | null): boolean {
  const known = questionsOf(before);
  return questionsOf(after).some((id) => !known.includes(id));
}

/** The ids of the open requests, and of the pairings that wait for a confirmation. */
export function questionsOf(view: PhoneView | null): string[] {
  if (view === null) return [];
  const asking = view.pairings.filter(asks).map(({ pairingId }) => pairingId);
  return [...view.requests.map(({ requestId }) => requestId), ...asking];
}

function asks({ status }: PhonePairing): boolean {
  return status === "asks_approval";
}
