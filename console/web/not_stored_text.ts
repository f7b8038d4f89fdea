// The sentence for members of a group that a backend did not store.

import type { MembersNotStored } from "../../scim/schema/resource.ts";
import { t } from "./i18n/translate.ts";

/** "2 members not stored: bob, eve"; an ellipsis ends a list that is not complete. */
export function notStoredText({ count, names }: MembersNotStored): string {
  const listed = count > names.length ? [...names, "…"] : names;
  return `${t("frame.not_stored", { count })}: ${listed.join(", ")}`;
}
