// The fields of a RADIUS client, for a new one and for one that is changed.

import type { Signal } from "@preact/signals";
import type { ConsoleSetting } from "../../../../platform/client_values.ts";
import { CLIENT_FIELDS, type ClientDraft, EDIT_FIELDS, usedValue } from "../../models/client_form.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../i18n/translate.ts";
import { Fields } from "../fields.tsx";
import { clientField } from "./client_words.ts";
import { FirstFactorFields, type FirstFactorPlace } from "./first_factor_fields.tsx";

const IDENTITY: readonly ConsoleSetting[] = ["address", "nasIdentifier"];
const SIGNATURE: readonly ConsoleSetting[] = ["messageAuthenticator"];
/** The fields after the first factor, which has fields of its own. */
const RULES = CLIENT_FIELDS.filter((name) =>
  ![...IDENTITY, ...SIGNATURE, ...EDIT_FIELDS].includes(name) && !name.startsWith("firstFactor")
);

interface FieldsProps extends FirstFactorPlace {
  readonly models: Models;
  readonly draft: Signal<ClientDraft>;
}

export function ClientFields({ models, draft, ldap, saved }: FieldsProps) {
  const fields = (names: readonly ConsoleSetting[]) => (
    <Fields prefix="client" draft={draft} rows={names.map(clientField)} />
  );
  return (
    <>
      {fields(IDENTITY)}
      <details class="connect-more" open={saved !== null}>
        <summary>{t("connect.more_rules")}</summary>
        <div class="form">
          {fields(SIGNATURE)}
          <FirstFactorFields models={models} draft={draft} ldap={ldap} saved={saved} />
          {fields(RULES.filter((name) => usedValue(draft.value, name) !== null))}
        </div>
      </details>
    </>
  );
}
