// The search picker that adds a member to a group.

import type { Models } from "../../app/app_context.ts";
import { SearchPicker } from "../../components/search_picker.tsx";
import { t } from "../../i18n/translate.ts";
import { searchUsers } from "./group_calls.ts";

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
      none={t("common.no_users_match")}
      optionsLabel={t("groups.found_users")}
      target={target}
      find={async (text) =>
        (await searchUsers(models, { target, text })).map(({ name, displayName }) => ({
          name,
          more: displayName !== "" && displayName !== name && <bdi class="quiet">{displayName}</bdi>,
        }))}
      onPick={onPick}
      reason={reason}
    />
  );
}
