/**
 * Opens a response log at the moment that its parent names, so that several processes do it at once, and tells how many
 * records are unfinished. Run by `fork` with the data directory; `ready` is what it says first.
 */
import { openResponseLog } from '../../store/responses.ts'

const [directory = ''] = process.argv.slice(2)

process.once('message', async (moment) => {
  while (Date.now() < Number(moment));
  const log = openResponseLog(directory)
  process.send?.((await log.unfinished()).length)
  await log.close()
  process.disconnect()
})
process.send?.('ready')
