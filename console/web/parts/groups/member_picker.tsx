// Picks a user for a group.

import { findUsers } from "../../models/group_calls.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../i18n/translate.ts";
import { SearchPicker } from "../search_picker.tsx";

interface PickerProps {
  readonly models: Models;
  readonly target: string;
  readonly onPick: (user: string) => Promise<void>;
  /** Why no member can be added. */
  readonly reason?: string | undefined;
}

export function MemberPicker({ models, target, onPick, reason }: PickerProps) {
  return (
    <SearchPicker
      id="member-picker"
      label={t("groups.add_member")}
      hint={t("groups.add_hint")}
      none={t("groups.no_user_found")}
      offersLabel={t("groups.found_users")}
      target={target}
      find={async (text) =>
        (await findUsers(models, { target, text })).map(({ name, displayName }) => ({
          name,
          more: displayName !== "" && displayName !== name && <bdi class="quiet">{displayName}</bdi>,
        }))}
      onPick={onPick}
      reason={reason}
    />
  );
}
