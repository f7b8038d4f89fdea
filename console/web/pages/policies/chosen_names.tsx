// A list of chosen groups, users or clients, with a search field that adds to it.

import { CONDITION_FIELDS, type NameConditionName } from "../../../../radius/policy/policy.ts";
import { take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import { Icon } from "../../components/icons.tsx";
import { SearchPicker } from "../../components/search_picker.tsx";
import { t } from "../../i18n/translate.ts";
import { searchUsers } from "../groups/group_calls.ts";

interface ChosenProps {
  readonly models: Models;
  readonly name: NameConditionName;
  readonly clients: readonly string[];
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
}

const MAX_OFFERED = 20;

export function ChosenNames(props: ChosenProps) {
  const { name, chosen, onChange } = props;
  const label = t(`policies.field_${name}`);
  return (
    <div class="policy-names">
      <SearchPicker
        id={`policy-${name}`}
        label={label}
        hint={t("policies.names_hint")}
        none={t("policies.names_none")}
        optionsLabel={label}
        target=""
        find={async (text) => {
          const found = await findNames(props, text);
          return found.filter((one) => !chosen.includes(one.name));
        }}
        onPick={(picked) => {
          onChange([...chosen, picked]);
          return Promise.resolve();
        }}
      />
      {chosen.length > 0 && (
        <ul class="policy-chosen" aria-label={label}>
          {chosen.map((one) => (
            <li key={one} class="chip tone-idle">
              <bdi>{one}</bdi>
              <button
                type="button"
                aria-label={t("common.remove_name", { name: one })}
                onClick={() => onChange(chosen.filter((other) => other !== one))}
              >
                <Icon name="x" size={12} />
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

interface Offer {
  readonly name: string;
  readonly more?: string;
}

async function findNames({ models, name, clients }: ChosenProps, text: string): Promise<readonly Offer[]> {
  const { names: kind } = CONDITION_FIELDS[name];
  if (kind === "clients") {
    const wanted = text.toLowerCase();
    return clients.filter((one) => one.toLowerCase().includes(wanted)).slice(0, MAX_OFFERED).map((one) => ({
      name: one,
    }));
  }
  if (kind === "users") {
    const users = await searchUsers(models, { target: "", text });
    return users.map((user) => ({ name: user.name, more: user.displayName }));
  }
  const { api, session } = models;
  const { names } = await session.whileSignedIn(() =>
    take<{ names: string[] }>(api["group-names"].$get({ query: { q: text } }))
  );
  return names.map((one) => ({ name: one }));
}
