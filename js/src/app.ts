/** The app chunk: what a shell imports. Nothing here is called `render`: anywidget would take it for its own. */
export { serverTransport } from "./client/websocket";
export { mount } from "./mount";
