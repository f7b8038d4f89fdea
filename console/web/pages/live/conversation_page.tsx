// The page of one login, as a link to share. It follows a login in progress.

import { useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { PageProps } from "../../app/app_context.ts";
import { lazy } from "../../components/lazy.tsx";
import { PageBar } from "../../components/page_layout.tsx";
import { t } from "../../i18n/translate.ts";
import { ConnectionBanner, withLiveModels } from "./live_context.tsx";

const LoginPageBody = lazy(async () => (await import("./login_inspector.tsx")).LoginPageBody);

export default function ConversationPage({ models: frame, params }: PageProps) {
  const id = params.id ?? "";
  const models = withLiveModels(frame);
  const { live, board } = models;
  useEffect(() => {
    live.start();
    return live.stop;
  }, []);
  const user = useSignal("");
  // Changes only with that login, not with every event.
  const view = useComputed(() => board.conversation(id)).value;
  const title = user.value === "" ? t("shell.conversation") : t("live.login_of", { user: user.value });
  return (
    <main class="page conversation">
      <PageBar title={title} back={{ href: "/live", label: t("common.back_to_live") }} />
      <ConnectionBanner models={models} />
      <LoginPageBody models={models} id={id} view={view} onUser={(name) => user.value = name} />
    </main>
  );
}
