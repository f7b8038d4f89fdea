// Picks a group for a user, or for many.

import { take } from "../../api_client.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../i18n/translate.ts";
import { SearchPicker } from "../search_picker.tsx";

interface PickerProps {
  readonly models: Models;
  readonly target: string;
  /** Groups that are offered no more. */
  readonly taken: readonly string[];
  readonly onPick: (group: string) => Promise<void>;
  readonly reason?: string | undefined;
}

export function GroupPicker({ models, target, taken, onPick, reason }: PickerProps) {
  const find = async (text: string) => {
    const { names } = await models.session.whileSignedIn(() =>
      take(models.api["group-names"].$get({ query: { target, q: text } }))
    );
    return names.filter((name) => !taken.includes(name)).map((name) => ({ name }));
  };
  return (
    <SearchPicker
      id="group-picker"
      label={t("people.add_group")}
      hint={t("people.add_group_hint")}
      none={t("people.no_group_found")}
      offersLabel={t("people.found_groups")}
      target={target}
      find={find}
      onPick={onPick}
      reason={reason}
    />
  );
}
