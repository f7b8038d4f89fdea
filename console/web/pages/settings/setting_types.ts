// The API's types, under the names of the forms.

import type { SettingCheck, SettingView } from "../../../api/settings/setting_types.ts";

export type {
  ConfigFault as SettingProblem,
  DirectoryNames,
  SettingValue,
} from "../../../api/settings/setting_types.ts";
export type Setting = SettingView;
export type CheckedSettings = SettingCheck;
