/** What a row asks a person, and the field of a denial: a chunk of its own. */
import type { ApprovalProps } from "../approval";
import { lazy, withStyles } from "../view/lazy";

export const Approval = lazy<ApprovalProps>(
  async () => {
    const { Approval, styles } = await import("../approval");
    return withStyles(Approval, "approval", styles);
  },
  <div class="as-Foot" />,
);
