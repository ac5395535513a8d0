import path from 'node:path'
import { describePublishedPackage } from '@nextvisit/testing/published-package'

describePublishedPackage({
  folder: path.resolve(import.meta.dirname, '..'),
  maxGzippedBytes: 12_288,
  exports: ['NextvisitForm', 'unfinishedOffers'],
})
