/** What was said, on the screen: the transcript, and the stylesheets that it needs besides the view's own. */
import bodies from "./bodies.css";
import messages from "./messages.css";
import parts from "./parts.css";

export { Transcript } from "./transcript";

/** For the mount: after base.css and layout.css. */
export const MESSAGE_STYLES = `${parts}\n${messages}\n${bodies}`;
