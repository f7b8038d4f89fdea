// Users whose name holds what is typed, as offers of the palette.

import { take } from "../../api_client.ts";
import type { Models } from "../../models/models.ts";
import type { Offer } from "../../models/palette_model.ts";

const MAX_USERS = 8;

/** Asks the server for the first few users; none when it does not answer, because the palette works without them. */
export async function findUsers({ api, router }: Models, text: string): Promise<readonly Offer[]> {
  try {
    const { rows } = await take(api.users.$get({ query: { q: text, size: String(MAX_USERS) } }));
    return rows.map(({ name, displayName }): Offer => ({
      id: `user:${name}`,
      kind: "user",
      label: displayName === "" || displayName === name ? name : `${name} · ${displayName}`,
      run: () => router.go(`/users/${encodeURIComponent(name)}`),
    }));
  } catch (_notNow) {
    return [];
  }
}
