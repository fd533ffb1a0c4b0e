/** Stylesheets are imported as their text. */
declare module "*.css" {
  const text: string;
  export default text;
}
