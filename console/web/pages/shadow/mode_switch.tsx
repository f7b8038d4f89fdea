// The switch of a client between shadow mode and the second factor. The change is one of the client: it is audited, and needs a recent factor.

import type { ClientContent } from "../../../../platform/client_settings.ts";
import type { Models } from "../../app/app_context.ts";
import { permissionHint } from "../../app/session_model.ts";
import { Button } from "../../components/button.tsx";
import { t } from "../../i18n/translate.ts";
import { changeClient, fetchClient, toClientDraft, toClientRequest } from "../clients/client_form.ts";

interface SwitchProps {
  readonly models: Models;
  readonly client: string;
  readonly mode: ClientContent["mode"];
  /** Why the client cannot be changed; absent if it can. */
  readonly reason?: string | undefined;
  readonly onChanged: () => void;
}

export function ModeSwitch({ models, client: name, mode, reason, onChanged }: SwitchProps) {
  const next = mode === "shadow" ? "enforce" : "shadow";
  const ask = () =>
    models.question.value = {
      title: t(`shadow.to_${next}_title`, { name }),
      submitLabel: t(`shadow.to_${next}`),
      text: t(`shadow.to_${next}_what`),
      isBad: next === "shadow",
      async run() {
        // The newest version, because this page does not show the other settings.
        const { client } = await models.session.whileSignedIn(() => fetchClient(models, name));
        const json = {
          ...toClientRequest({ ...toClientDraft(client), mode: next }),
          version: client.version,
        };
        await changeClient(models, name, json).finally(onChanged);
        models.toasts.show(t(`shadow.to_${next}_done`, { name }), { tone: "ok" });
      },
    };
  return (
    <div>
      <Button
        kind={next === "shadow" ? "bad" : "primary"}
        reason={permissionHint(models, "owner") ?? reason}
        onClick={ask}
      >
        {t(`shadow.to_${next}`)}
      </Button>
    </div>
  );
}
