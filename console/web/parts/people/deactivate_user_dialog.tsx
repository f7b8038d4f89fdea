// Asks before a deactivation that takes groups or factors with it: activating again does not bring them back.

import type { UserView } from "../../../api/users/user_types.ts";
import { t } from "../../i18n/translate.ts";
import { ConfirmDialog } from "../confirm_dialog.tsx";
import { UserConsequences } from "./user_consequences.tsx";

interface DeactivateProps {
  readonly user: UserView;
  /** Says itself what came of it. */
  readonly onConfirm: () => Promise<void>;
  readonly onClose: () => void;
}

export function DeactivateUserDialog({ user, onConfirm, onClose }: DeactivateProps) {
  const { name } = user;
  return (
    <ConfirmDialog
      title={t("people.deactivate_title", { name })}
      verb={t("people.deactivate_verb", { name })}
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <ul class="people-consequences">
        <UserConsequences user={user} />
      </ul>
      <p>{t("people.gone_for_good")}</p>
    </ConfirmDialog>
  );
}
