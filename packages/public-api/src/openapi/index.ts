export { readContent } from './content.ts'
export { createOpenApiDocument, openApiText } from './document.ts'
