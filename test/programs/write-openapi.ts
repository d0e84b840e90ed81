/** Writes the OpenAPI description of both deployments to a folder, for `npm run tool -- openapi`. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { renderDocuments } from '../../rest-facade/documents/render-documents.ts'
import { deploymentOf } from '../support/deployment.ts'
import { readArguments } from '../support/arguments.ts'

const [folder = ''] = readArguments('FOLDER')
mkdirSync(folder, { recursive: true })
for (const mode of ['testnet', 'mainnet'] as const)
  writeFileSync(join(folder, `${mode}.json`), renderDocuments(deploymentOf(mode)).get('/openapi.json')?.text ?? '')
