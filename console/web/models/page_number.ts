// Which page of a list the address names.

import type { Models } from "./models.ts";

/** The page of the address: 1 unless it names a better one. */
export function pageOf({ router }: Pick<Models, "router">): number {
  const page = Number(router.param("page"));
  return Number.isInteger(page) && page > 0 ? page : 1;
}
