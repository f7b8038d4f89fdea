// Questions that the person of the phone has answered. They leave the page before the stream reports it.

import type { PhonePairing, PhoneView } from "../../upstream/embedded/second_factor/interfaces.ts";

/** Request and pairing ids, with whether the person approved. */
export type Answered = ReadonlyMap<string, boolean>;

/** The view without answered questions. An approved pairing is shown as enabled. */
export function withoutAnswered(view: PhoneView, answered: Answered): PhoneView {
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

function questionsOf(view: PhoneView | null): string[] {
  if (view === null) return [];
  const asking = view.pairings.filter(asks).map(({ pairingId }) => pairingId);
  return [...view.requests.map(({ requestId }) => requestId), ...asking];
}

function asks({ status }: PhonePairing): boolean {
  return status === "asks_approval";
}
