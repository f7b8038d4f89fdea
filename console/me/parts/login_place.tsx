// Where a login comes from: the client, and the place of the user.

import { t } from "../../web/i18n/translate.ts";
import type { OwnLogin } from "../login_looks.ts";

/** At which client and from where. */
export function LoginPlace({ login }: { login: OwnLogin }) {
  return (
    <span class="small">
      {t("me.login_at")} <span class="mono">{login.client}</span> {t("me.login_from")}{" "}
      {login.place === "" ? t("me.place_unknown") : <span class="mono">{login.place}</span>}
    </span>
  );
}
