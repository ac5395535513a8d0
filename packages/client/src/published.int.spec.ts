import path from 'node:path'
import { describePublishedPackage } from '@nextvisit/testing/published-package'

describePublishedPackage({
  folder: path.resolve(import.meta.dirname, '..'),
  // Not minified, and with its comments, which are a quarter.
  maxGzippedBytes: 8_200,
  exports: ['NextvisitError', 'createNextvisit'],
})
