// The fields of a RADIUS client, for a new one and for one that is changed.

import type { Signal } from "@preact/signals";
import type { ClientDraft } from "../../models/client_form.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../i18n/translate.ts";
import { type FieldRow, Fields } from "../fields.tsx";
import { FirstFactorFields, type FirstFactorPlace } from "./first_factor_fields.tsx";

type Rows = readonly FieldRow<ClientDraft>[];

const WHO_ROWS: Rows = [
  {
    name: "addressText",
    label: "connect.addresses",
    hint: "connect.addresses_hint",
    lines: 2,
    input: { required: true },
  },
  {
    name: "nasIdentifier",
    label: "connect.nas_identifier",
    hint: "connect.nas_identifier_hint",
    input: { maxLength: 128 },
  },
];
const SIGNATURE_ROWS: Rows = [{
  name: "messageAuthenticator",
  label: "connect.messageAuthenticator",
  choices: ["auto", "require", "off"],
  sayChoice: (value) => t(`connect.messageAuthenticator_${value}`),
}];
const RULE_ROWS: Rows = [
  {
    name: "device",
    label: "connect.device",
    choices: ["challenge", "hold", "hold_then_challenge"],
    sayChoice: (value) => t(`connect.device_${value}`),
  },
  {
    name: "unknownUsers",
    label: "connect.unknownUsers",
    choices: ["auto", "allow", "reject"],
    sayChoice: (value) => t(`connect.unknownUsers_${value}`),
  },
  { name: "domainsText", label: "connect.domainsText", hint: "connect.domainsText_hint" },
  { name: "realmsText", label: "connect.realmsText", hint: "connect.realmsText_hint" },
  { name: "appendMode", label: "connect.append_mode", hint: "connect.append_mode_hint" },
];
const SEPARATOR_ROWS: Rows = [{
  name: "appendSeparator",
  label: "connect.appendSeparator",
  hint: "connect.appendSeparator_hint",
  input: { maxLength: 1 },
}];

interface FieldsProps extends FirstFactorPlace {
  readonly models: Models;
  readonly draft: Signal<ClientDraft>;
}

export function ClientFields({ models, draft, ldap, saved }: FieldsProps) {
  const fields = (rows: Rows) => <Fields prefix="client" draft={draft} rows={rows} />;
  return (
    <>
      {fields(WHO_ROWS)}
      <details class="connect-more" open={saved !== null}>
        <summary>{t("connect.more_rules")}</summary>
        <div class="form">
          {fields(SIGNATURE_ROWS)}
          <FirstFactorFields models={models} draft={draft} ldap={ldap} saved={saved} />
          {fields(RULE_ROWS)}
          {draft.value.appendMode && fields(SEPARATOR_ROWS)}
        </div>
      </details>
    </>
  );
}
