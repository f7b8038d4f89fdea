// Labels of changed settings, for the audit log. The history of a user needs none.

import { findAuditedSetting } from "../../../../platform/client_settings.ts";
import { settingLabel } from "../clients/client_form.ts";
import { optionLabel, settingName } from "../settings/setting_labels.ts";
import type { ChangeLabels } from "./change_text.tsx";

/** Settings of clients and of the server. */
export const SETTING_CHANGES: ChangeLabels = {
  part(name) {
    const setting = findAuditedSetting(name);
    if (setting !== null) return settingLabel(setting);
    const label = settingName({ key: name });
    return label === name ? null : label;
  },
  value(name, value) {
    const label = optionLabel({ key: name }, value);
    return label === value ? null : label;
  },
};
