// A one-time link to a person's own page: made by a press, shown once.

import type { UserPart } from "../../pages/user_page.tsx";
import { t } from "../../i18n/translate.ts";
import { FormDialog } from "../form_dialog.tsx";
import { GoodUntil } from "./good_until.tsx";

export function MeLinkDialog({ models, user, calls, onClose }: UserPart & { readonly onClose: () => void }) {
  const title = t("people.me_link_title", { name: user.name });
  return (
    <FormDialog
      title={title}
      verb={t("people.me_link_make")}
      onSubmit={async () => {
        const { url, deadlineMs } = await calls.makeMeLink();
        const children = <GoodUntil models={models} atMs={deadlineMs} />;
        return { title, label: t("people.me_link_label"), secret: url, children };
      }}
      onClose={onClose}
    >
      <p>{t("people.me_link_what", { name: user.name })}</p>
    </FormDialog>
  );
}
