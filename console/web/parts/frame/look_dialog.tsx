// How the console looks in this browser, over whatever page is open.

import type { Models } from "../../models/models.ts";
import { t } from "../../i18n/translate.ts";
import { Dialog } from "../dialog.tsx";
import { LookFields } from "./look_fields.tsx";

export function LookDialog({ models }: { models: Models }) {
  return (
    <Dialog title={t("frame.look")} light onClose={() => models.overlay.value = null}>
      <LookFields models={models} id="look" />
    </Dialog>
  );
}
