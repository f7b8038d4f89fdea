// What the palette offers for what is typed: places, deeds, and users by name from the server.

import type { Role } from "../../api/auth/permissions.ts";

export interface Offer {
  readonly id: string;
  readonly kind: "go" | "do" | "user";
  readonly label: string;
  /** Its shortcut, if it has one. */
  readonly keys?: string;
  readonly needs?: Role;
  readonly run: () => void;
}

/** The offers that hold every typed word; those that begin with what is typed come first. */
export function matchingOffers(offers: readonly Offer[], typed: string): readonly Offer[] {
  const words = typed.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return offers;
  const whole = words.join(" ");
  const hits = offers.filter(({ label }) => {
    const text = label.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const rank = ({ label }: Offer) => label.toLowerCase().startsWith(whole) ? 0 : 1;
  return hits.toSorted((a, b) => rank(a) - rank(b));
}
