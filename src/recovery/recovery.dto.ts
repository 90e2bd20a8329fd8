import { Uuids } from '../platform/http/fields.decorator.js';

export class DismissItemsBody {
  @Uuids({ min: 1, max: 100 }) item_ids!: string[];
}
