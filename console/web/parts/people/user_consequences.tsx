// What goes with a user who leaves, by deletion or deactivation: groups, factors, logins under way.

import type { UserView } from "../../../api/users/user_types.ts";
import { t } from "../../i18n/translate.ts";
import { factorLabel } from "./user_states.tsx";

/** Lines for a list; none for what there is none of. */
export function UserConsequences({ user: { record, login } }: { readonly user: UserView }) {
  const groups = record?.groups ?? [];
  const pairings = login?.pairings ?? [];
  const conversations = login?.conversations ?? [];
  return (
    <>
      {groups.length > 0 && (
        <li>
          {t("people.delete_groups", { count: groups.length })} <bdi>{groups.join(", ")}</bdi>
        </li>
      )}
      {pairings.length > 0 && (
        <li>
          {t("people.delete_factors", { count: pairings.length })}{" "}
          {pairings.map(({ kind }) => factorLabel(kind)).join(", ")}
        </li>
      )}
      {conversations.length > 0 && <li>{t("people.delete_logins", { count: conversations.length })}</li>}
    </>
  );
}
