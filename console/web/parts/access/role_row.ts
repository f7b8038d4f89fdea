// The role of an administrator, as a field of a form.

import type { Role } from "../../../api/auth/permissions.ts";
import { t } from "../../i18n/translate.ts";
import type { FieldRow } from "../fields.tsx";

export const ROLE_ROW: FieldRow<{ role: Role }> = {
  name: "role",
  label: "access.role",
  /** From least to most. */
  choices: ["viewer", "operator", "user_manager", "owner"],
  sayChoice: (role) => t(`frame.role_${role}`),
};
